-- Takes the next serial number of a sequence for an asset of the item: the prefix, or `before`
-- instead of it, and the counter. Numbers that an asset of the item has, archived ones too, are
-- left out. The sequence is locked until the end of the transaction, so nobody else gets the same.
-- Null: there is no such sequence.
CREATE OR REPLACE FUNCTION assets.serial_take(org text, sequence_id text, item text, before text)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    found assets.sequence;
    taken text;
BEGIN
    SELECT * INTO found FROM assets.sequence s
    WHERE s.organization_id = org AND s.id = sequence_id AND s.deleted_at IS NULL
    FOR UPDATE;
    IF found.id IS NULL THEN
        RETURN NULL;
    END IF;
    LOOP
        taken := coalesce(before, found.prefix) || found.counter;
        found.counter := assets.counter_after(found.counter);
        EXIT WHEN NOT EXISTS (
            SELECT 1 FROM assets.asset a
            WHERE a.organization_id = org AND a.item_id = item AND a.deleted_at IS NULL
            AND lower(a.serial_number) COLLATE "C" = lower(taken) COLLATE "C"
        );
    END LOOP;
    UPDATE assets.sequence s SET counter = found.counter, version = s.version + 1
    WHERE s.organization_id = org AND s.id = sequence_id;
    RETURN taken;
END
$$;
