"""Local raters: methods that grade answers and answer questions without a language model.

They read what a prompt holds (the fields of the item) and write text, as a language model would; they learn from the
train split alone. No answer is drawn at random. Holds methods; running them is the engine's job.
"""
