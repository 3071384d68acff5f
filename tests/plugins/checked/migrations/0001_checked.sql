-- wharf: phase=expand
CREATE TABLE checked.thing (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    amount integer NOT NULL DEFAULT 0,
    pair text COLLATE "C",
    PRIMARY KEY (organization_id, id)
);
SELECT wharf.protect_table('checked.thing');

-- A check that calls this writes.
CREATE FUNCTION checked.write() RETURNS boolean LANGUAGE sql AS $$
    INSERT INTO checked.thing (organization_id, id) VALUES ('org', 'written') RETURNING true
$$;
