"""The papers' tables and figures: one file each, with its recipe, the printed numbers, and the rule of its verdict.

item        what an item is
registry    all of them, in their order
runner      makes the runs of items, and what is read from them
writing     tables: Markdown, JSON, HTML
page        the page of stored results
"""
