-- wharf: order=first
-- Counts a letter in the states of a chunk's items: '.' pending; done: c created, u updated, o
-- overwritten, d deleted, n unchanged; a v e failed while parsing, validating, processing; i
-- ignored, s skipped. The counts follow from the states and can't differ.
CREATE OR REPLACE FUNCTION batches.letters(states text, letter text) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN length(states) - length(replace(states, letter, ''));
