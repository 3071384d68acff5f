-- wharf: phase=expand
-- The first rows of the table are other organizations': a walk through it for a frequent word, which the planner likes with a LIMIT, reads all of
-- these first. By an index of the organization it ends after some hundred rows.
ALTER FUNCTION contacts.containing(text[], integer) SET enable_seqscan = off;
ALTER FUNCTION contacts.named(text, integer) SET enable_seqscan = off;
ALTER FUNCTION contacts.known_as(text, text, integer) SET enable_seqscan = off;
