"""Pages of blocks, printed as plain text, Markdown, HTML and long CSV; plots as SVG by hand.

Whoever has something to show builds blocks; nothing here knows of what.
"""
