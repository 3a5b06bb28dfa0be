"""How fast an engine serves: one pass at the roof, links, the load, first tokens.

Constants are fitted to published measurements (`efficiency`); one load run corrects them.
"""
