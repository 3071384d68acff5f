-- wharf: order=first
-- Returns the text as searches compare it: without case and accents. Immutable, so that indexes may
-- be built on it; that holds as long as the rules of unaccent are not edited. In plpgsql, which
-- keeps its plan: one in SQL, whose body is not immutable, would be planned by each statement that
-- writes an index. A text of ASCII, which has no accents, takes half the time. COST: a call takes
-- as long as ten operators; with the 100 that functions have else, a search for words that many
-- rows have is planned to read all of an index where the table's first rows have enough of them.
CREATE OR REPLACE FUNCTION wharf.fold(text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE COST 10 AS $$
BEGIN
    RETURN CASE WHEN octet_length($1) = char_length($1) THEN lower($1 COLLATE "C")
        ELSE lower(public.unaccent('public.unaccent'::regdictionary, $1)) END;
END
$$;
