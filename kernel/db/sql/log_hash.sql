-- Returns the seal of a line of the change log: the hash of the seal before it and of what is
-- sealed of the line.
CREATE OR REPLACE FUNCTION wharf.log_hash(prev bytea, r wharf.change_log) RETURNS bytea
    LANGUAGE sql STABLE AS $$
    SELECT sha256(convert_to(encode(prev, 'hex') || wharf.canonical_log(r), 'UTF8'))
$$;
