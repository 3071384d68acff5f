-- Nothing is written by a check.
-- rows: checked.thing
SELECT '', 'x', 'was written'
WHERE checked.write()
