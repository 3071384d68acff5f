-- Makes a new key of signed links; the old one still counts until the next time.
CREATE OR REPLACE FUNCTION wharf.rotate_file_key() RETURNS void LANGUAGE sql AS $$
    UPDATE wharf.setting
        SET value = (SELECT value FROM wharf.setting WHERE key = 'file.key'), updated_at = now()
    WHERE key = 'file.key.previous';
    UPDATE wharf.setting
        SET value = replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''),
        updated_at = now()
    WHERE key = 'file.key';
$$;
