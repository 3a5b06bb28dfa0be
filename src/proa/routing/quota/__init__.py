"""What tenants may use up: minutes, days, months and money, as arithmetic over cells.

Start at `account`, the counts of one tenant; `window` is the last minute, `periods` the calendar.
Who locks the cells and who keeps them is not known here.
"""
