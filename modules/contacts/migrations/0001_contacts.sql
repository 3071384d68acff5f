-- wharf: phase=expand

-- Contacts and groups (spec 02 sections 4 and 6). Who is in which group is told on both sides, in
-- one transaction: contact.groups for reading and filtering contacts, contact_group.members for the
-- order of a group and its primary ones; children repeats them for its index.
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
CREATE INDEX contact_name ON contacts.contact (organization_id, lower(name) COLLATE "C", id) WHERE deleted_at IS NULL;
CREATE INDEX contact_email ON contacts.contact (organization_id, lower(email) COLLATE "C", id) WHERE deleted_at IS NULL;
CREATE INDEX contact_created ON contacts.contact (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX contact_updated ON contacts.contact (organization_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX contact_search ON contacts.contact USING gin (search_text public.gin_trgm_ops);
CREATE INDEX contact_phone_equal ON contacts.contact (organization_id, lower(phone)) WHERE deleted_at IS NULL AND phone IS NOT NULL;
CREATE INDEX contact_email_down ON contacts.contact (organization_id, lower(email) COLLATE "C" DESC NULLS LAST, id DESC) WHERE deleted_at IS NULL;
CREATE STATISTICS contacts.contact_names ON lower(name) FROM contacts.contact;
CREATE STATISTICS contacts.contact_phones ON lower(phone) FROM contacts.contact;
CREATE STATISTICS contacts.contact_external_ids ON lower(external_id) FROM contacts.contact;
CREATE INDEX contact_phone_tail ON contacts.contact
    (right(ltrim(split_part(phone, ';', 1), '+'), 9), organization_id)
    WHERE deleted_at IS NULL AND phone IS NOT NULL;
CREATE INDEX contact_other_phone_tails ON contacts.contact USING gin (contacts.phone_tails(alternate_phones)) WHERE deleted_at IS NULL AND alternate_phones <> '{}';
-- A contact costs what its index entries cost. Equal names are found by the index that sorts names;
-- what arrays and metadata contain, by one index for all of them: PostgreSQL looks a condition on
-- one of its columns up as fast as in an index of that column alone.
CREATE INDEX contact_contained ON contacts.contact USING gin (emails, address_hashes, groups, locations, metadata jsonb_path_ops);
-- Indexes and counts only values that somebody looks for. Most contacts have no external id: they
-- need no entry. Words are found by the index of deletions (words_sharing), so ANALYZE need not
-- count how often each deletion occurs.
CREATE UNIQUE INDEX contact_external_id ON contacts.contact (organization_id, lower(external_id))
    WHERE deleted_at IS NULL AND external_id IS NOT NULL;
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
CREATE STATISTICS contacts.group_names ON lower(name) FROM contacts.contact_group;
CREATE STATISTICS contacts.group_external_ids ON lower(external_id) FROM contacts.contact_group;
SELECT wharf.protect_table('contacts.contact_group');

-- Words of names, for finding who may be meant (docs/spec/06-inference.md section 9.7): token in
-- search form; weight: what it counts in its name.
CREATE TABLE contacts.token (
    organization_id text COLLATE "C" NOT NULL,
    contact_id text COLLATE "C" NOT NULL,
    token text COLLATE "C" NOT NULL,
    weight real NOT NULL,
    -- By word only: which words a contact had, its names say.
    PRIMARY KEY (organization_id, token, contact_id) INCLUDE (weight)
);
SELECT wharf.protect_table('contacts.token');

-- Each word that ever stood in the book. deletions: hashes (32 bits, FNV-1a) of the organization, a
-- zero, and what is left of the word without one letter (of long words: without two): a word that
-- is one edit away shares one of these with it.
CREATE TABLE contacts.word (
    organization_id text COLLATE "C" NOT NULL,
    token text COLLATE "C" NOT NULL,
    deletions integer[] NOT NULL,
    -- The database process that learned the word. Two processes that learn a word at the same
    -- moment (several workers of one batch do all the time) do not wait for each other: the word is
    -- there twice then.
    twin integer NOT NULL DEFAULT 0,
    CONSTRAINT word_pkey PRIMARY KEY (organization_id, token, twin)
);
CREATE INDEX word_deletions ON contacts.word USING gin (deletions) WITH (gin_pending_list_limit = 1024);
ALTER TABLE contacts.word ALTER COLUMN deletions SET STATISTICS 0;
SELECT wharf.protect_table('contacts.word');
