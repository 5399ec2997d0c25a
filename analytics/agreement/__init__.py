"""Agreement between graders and gold: the numpy reference that the SQL macros are compared with."""
