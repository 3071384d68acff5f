-- No amount is below zero, and none is called "less".
-- rows: checked.thing
-- Count again.
SELECT organization_id, id, 'has ' || amount || ' "less"'
FROM checked.thing
WHERE amount < 0
ORDER BY id
