-- wharf: phase=expand
-- Contacts and groups (spec 02 sections 4 and 6). Who is in which group is told on both sides, in one transaction: contact.groups for reading
-- and filtering contacts, contact_group.members for the order of a group and its primary ones; children repeats them for its index.

CREATE TABLE contacts.contact (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    email text,
    phone text COLLATE "C",
    address jsonb,
    alternate_names jsonb NOT NULL DEFAULT '{}',
    alternate_emails jsonb NOT NULL DEFAULT '{}',
    alternate_phones jsonb NOT NULL DEFAULT '{}',
    alternate_addresses jsonb NOT NULL DEFAULT '{}',
    id_number text,
    external_id text COLLATE "C",
    is_primary boolean NOT NULL DEFAULT false,
    notes text,
    groups jsonb NOT NULL DEFAULT '[]',
    locations jsonb NOT NULL DEFAULT '[]',
    checksum text COLLATE "C" NOT NULL,
    emails jsonb NOT NULL DEFAULT '[]',
    address_hashes jsonb NOT NULL DEFAULT '[]',
    search_text text, -- in search form
    metadata jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX contact_external_id ON contacts.contact (organization_id, lower(external_id)) WHERE deleted_at IS NULL;
CREATE INDEX contact_name ON contacts.contact (organization_id, lower(name) COLLATE "C", id) WHERE deleted_at IS NULL;
CREATE INDEX contact_email ON contacts.contact (organization_id, lower(email) COLLATE "C", id) WHERE deleted_at IS NULL;
CREATE INDEX contact_phone ON contacts.contact (organization_id, phone) WHERE deleted_at IS NULL;
CREATE INDEX contact_created ON contacts.contact (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX contact_updated ON contacts.contact (organization_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX contact_emails ON contacts.contact USING gin (emails);
CREATE INDEX contact_address_hashes ON contacts.contact USING gin (address_hashes);
CREATE INDEX contact_groups ON contacts.contact USING gin (groups);
CREATE INDEX contact_locations ON contacts.contact USING gin (locations);
CREATE INDEX contact_metadata ON contacts.contact USING gin (metadata jsonb_path_ops);
CREATE INDEX contact_search ON contacts.contact USING gin (search_text public.gin_trgm_ops);
SELECT wharf.protect_table('contacts.contact');

CREATE TABLE contacts.contact_group (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    resource text COLLATE "C" NOT NULL,
    location_id text COLLATE "C",
    members jsonb NOT NULL DEFAULT '{"children": [], "primary": []}',
    children jsonb NOT NULL DEFAULT '[]',
    external_id text COLLATE "C",
    metadata jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX group_name ON contacts.contact_group (organization_id, resource, lower(name)) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX group_external_id ON contacts.contact_group (organization_id, lower(external_id)) WHERE deleted_at IS NULL;
CREATE INDEX group_by_name ON contacts.contact_group (organization_id, lower(name) COLLATE "C", id) WHERE deleted_at IS NULL;
CREATE INDEX group_created ON contacts.contact_group (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX group_updated ON contacts.contact_group (organization_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX group_location ON contacts.contact_group (organization_id, location_id) WHERE deleted_at IS NULL;
CREATE INDEX group_children ON contacts.contact_group USING gin (children);
CREATE INDEX group_metadata ON contacts.contact_group USING gin (metadata jsonb_path_ops);
CREATE INDEX group_search ON contacts.contact_group USING gin (wharf.fold(name) public.gin_trgm_ops);
SELECT wharf.protect_table('contacts.contact_group');

-- Words of names, for finding who may be meant (docs/spec/06-inference.md section 9.7): token in search form; weight: what it counts in its name.
CREATE TABLE contacts.token (
    organization_id text COLLATE "C" NOT NULL,
    contact_id text COLLATE "C" NOT NULL,
    token text COLLATE "C" NOT NULL,
    weight real NOT NULL,
    PRIMARY KEY (organization_id, contact_id, token)
);
CREATE INDEX token_contact ON contacts.token (organization_id, token, contact_id) INCLUDE (weight);
SELECT wharf.protect_table('contacts.token');

-- Each word that ever stood in the book, and what is left of it without one letter (without two, of long words): a word that is one edit away
-- shares one of these with it.
CREATE TABLE contacts.token_deletion (
    organization_id text COLLATE "C" NOT NULL,
    deletion text COLLATE "C" NOT NULL,
    token text COLLATE "C" NOT NULL,
    PRIMARY KEY (organization_id, deletion, token)
);
SELECT wharf.protect_table('contacts.token_deletion');
