-- wharf: phase=expand

-- Words of mails to customers (spec 07 section 16.3 'Templates').
CREATE TABLE notifications.template (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    occasion text COLLATE "C" NOT NULL,
    language text COLLATE "C" NOT NULL,
    location_id text COLLATE "C",
    subject text NOT NULL,
    text text NOT NULL,
    html text,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX template_place ON notifications.template
    (organization_id, occasion, lower(language), (coalesce(location_id, '')))
    WHERE deleted_at IS NULL;
CREATE INDEX template_created
    ON notifications.template (organization_id, created_at, id)
    WHERE deleted_at IS NULL;

-- The link by which a contact ends its mails: id is the contact that it was made for, contact_id
-- the one that it stands for since both became one.
CREATE TABLE notifications.link (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    contact_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX link_contact ON notifications.link (organization_id, contact_id);

SELECT wharf.protect_table(t::regclass)
FROM unnest(ARRAY['notifications.template', 'notifications.link']) AS t;
