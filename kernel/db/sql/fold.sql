-- wharf: order=first
-- Returns the text as searches compare it: without case and accents. Immutable, so that indexes may
-- be built on it; that holds as long as the rules of unaccent are not edited. In plpgsql, which
-- keeps its plan: one in SQL, whose body is not immutable, would be planned by each statement that
-- writes an index.
CREATE OR REPLACE FUNCTION wharf.fold(text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    RETURN lower(public.unaccent('public.unaccent'::regdictionary, $1));
END
$$;
