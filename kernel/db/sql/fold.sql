-- wharf: order=first
-- Returns the text as searches compare it: without case and accents. Immutable, so that indexes may
-- be built on it; that holds as long as the rules of unaccent are not edited.
CREATE OR REPLACE FUNCTION wharf.fold(text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT lower(public.unaccent('public.unaccent'::regdictionary, $1))
$$;
