CREATE OR REPLACE FUNCTION wharf.log_hash(prev bytea, r wharf.change_log) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(convert_to(encode(prev, 'hex') || wharf.canonical_log(r), 'UTF8'))
$$;
