-- wharf: phase=contract
-- Nobody writes contacts.token_deletion any more: what was learned meanwhile is taken over, and it goes.

SELECT contacts.take_over_words();
DROP FUNCTION contacts.take_over_words();
DROP TABLE contacts.token_deletion;
