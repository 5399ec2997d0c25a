"""Classical test theory: item statistics, reliability, distractors and differential item functioning."""
