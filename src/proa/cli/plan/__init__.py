"""`proa plan`: from what was asked to a document, and from it to text, pages and tables.

`command` is the verb; `think` composes the planner's answers.
"""
