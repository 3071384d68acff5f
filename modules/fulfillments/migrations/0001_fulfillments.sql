-- wharf: phase=expand

-- Fulfillments (spec 03 section 6). changes counts writes of articles, reservations and parcels,
-- which have tables of their own.
CREATE TABLE fulfillments.fulfillment (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    location_id text COLLATE "C" NOT NULL,
    recipient jsonb,
    sender jsonb,
    recipient_contact_id text COLLATE "C",
    sender_contact_id text COLLATE "C",
    order_number text,
    purchase_order text,
    reference_number text,
    external_id text COLLATE "C",
    priority bigint NOT NULL DEFAULT 0,
    ship_by timestamptz(3),
    assigned_user_id text COLLATE "C",
    notes text,
    tags jsonb NOT NULL DEFAULT '[]',
    completed_at timestamptz(3),
    canceled_at timestamptz(3),
    metadata jsonb NOT NULL DEFAULT '{}',
    search_text text,
    changes bigint NOT NULL DEFAULT 0,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX fulfillment_external_id ON fulfillments.fulfillment (organization_id, external_id) WHERE deleted_at IS NULL;
CREATE INDEX fulfillment_created_at ON fulfillments.fulfillment (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX fulfillment_updated_at ON fulfillments.fulfillment (organization_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX fulfillment_priority ON fulfillments.fulfillment (organization_id, priority, id) WHERE deleted_at IS NULL;
CREATE INDEX fulfillment_ship_by ON fulfillments.fulfillment (organization_id, ship_by, id) WHERE deleted_at IS NULL;
CREATE INDEX fulfillment_status ON fulfillments.fulfillment (organization_id, status, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX fulfillment_location ON fulfillments.fulfillment (organization_id, location_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX fulfillment_user ON fulfillments.fulfillment (organization_id, assigned_user_id, created_at, id) WHERE deleted_at IS NULL AND assigned_user_id IS NOT NULL;
CREATE INDEX fulfillment_recipient ON fulfillments.fulfillment (organization_id, recipient_contact_id, created_at, id) WHERE deleted_at IS NULL AND recipient_contact_id IS NOT NULL;
CREATE INDEX fulfillment_sender ON fulfillments.fulfillment (organization_id, sender_contact_id, created_at, id) WHERE deleted_at IS NULL AND sender_contact_id IS NOT NULL;
CREATE INDEX fulfillment_order_number ON fulfillments.fulfillment (organization_id, lower(order_number), created_at, id) WHERE deleted_at IS NULL AND order_number IS NOT NULL;
CREATE INDEX fulfillment_purchase_order ON fulfillments.fulfillment (organization_id, lower(purchase_order), created_at, id) WHERE deleted_at IS NULL AND purchase_order IS NOT NULL;
CREATE INDEX fulfillment_reference_number ON fulfillments.fulfillment (organization_id, lower(reference_number), created_at, id) WHERE deleted_at IS NULL AND reference_number IS NOT NULL;
CREATE INDEX fulfillment_tags ON fulfillments.fulfillment USING gin (tags);
CREATE INDEX fulfillment_metadata ON fulfillments.fulfillment USING gin (metadata jsonb_path_ops);
CREATE INDEX fulfillment_search_text ON fulfillments.fulfillment USING gin (wharf.fold(search_text) public.gin_trgm_ops);

-- Lines that are asked for. is_open: of a fulfillment that is neither completed nor canceled;
-- waiting: how much is back-ordered. reserved, picked, packed and shipped are the sums of its
-- reservations.
CREATE TABLE fulfillments.article (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    fulfillment_id text COLLATE "C" NOT NULL,
    location_id text COLLATE "C" NOT NULL,
    item_id text COLLATE "C" NOT NULL,
    position integer NOT NULL,
    name text NOT NULL,
    sku text,
    gtin text,
    is_asset boolean NOT NULL,
    requested numeric(15, 4) NOT NULL CHECK (requested > 0),
    reserved numeric(15, 4) NOT NULL DEFAULT 0 CHECK (reserved <= requested),
    picked numeric(15, 4) NOT NULL DEFAULT 0 CHECK (picked <= reserved),
    packed numeric(15, 4) NOT NULL DEFAULT 0 CHECK (packed >= 0 AND packed <= picked),
    shipped numeric(15, 4) NOT NULL DEFAULT 0,
    received numeric(15, 4) NOT NULL DEFAULT 0 CHECK (received <= shipped),
    defective numeric(15, 4) NOT NULL DEFAULT 0 CHECK (defective >= 0 AND defective <= received),
    is_open boolean NOT NULL DEFAULT true,
    waiting numeric(15, 4) GENERATED ALWAYS AS (
        CASE WHEN is_open THEN requested - reserved ELSE 0 END
    ) STORED,
    layout_id text COLLATE "C",
    lot_number text COLLATE "C",
    comment text,
    attributes jsonb NOT NULL DEFAULT '[]',
    special_handling_tags jsonb NOT NULL DEFAULT '[]',
    value bigint,
    harmonized_code text,
    origin_country text,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
) WITH (fillfactor = 80);
CREATE INDEX article_fulfillment ON fulfillments.article (organization_id, fulfillment_id, position, id);
CREATE INDEX article_item ON fulfillments.article (organization_id, item_id, fulfillment_id);
CREATE INDEX article_sku ON fulfillments.article (organization_id, lower(sku), fulfillment_id);
CREATE INDEX article_waiting ON fulfillments.article (organization_id, item_id, location_id) WHERE waiting > 0;

-- Promises to articles, by level: quantity stands in the reserved bucket of the level of
-- its item, location, layout and lot. Rows with nothing but shipped are of completed fulfillments.
CREATE TABLE fulfillments.reservation (
    organization_id text COLLATE "C" NOT NULL,
    article_id text COLLATE "C" NOT NULL,
    fulfillment_id text COLLATE "C" NOT NULL,
    layout_id text COLLATE "C" NOT NULL,
    lot_id text COLLATE "C",
    quantity numeric(15, 4) NOT NULL DEFAULT 0,
    picked numeric(15, 4) NOT NULL DEFAULT 0 CHECK (picked <= quantity),
    packed numeric(15, 4) NOT NULL DEFAULT 0 CHECK (packed >= 0 AND packed <= picked),
    shipped numeric(15, 4) NOT NULL DEFAULT 0 CHECK (shipped >= 0)
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX reservation_place ON fulfillments.reservation (organization_id, article_id, layout_id, lot_id) NULLS NOT DISTINCT;
CREATE INDEX reservation_fulfillment ON fulfillments.reservation (organization_id, fulfillment_id);
CREATE INDEX reservation_layout ON fulfillments.reservation (organization_id, layout_id);

-- Contents of parcels.
CREATE TABLE fulfillments.content (
    organization_id text COLLATE "C" NOT NULL,
    fulfillment_id text COLLATE "C" NOT NULL,
    parcel_id text COLLATE "C" NOT NULL,
    article_id text COLLATE "C" NOT NULL,
    lot_id text COLLATE "C",
    quantity numeric(15, 4) NOT NULL CHECK (quantity >= 0)
);
CREATE UNIQUE INDEX content_line ON fulfillments.content (organization_id, fulfillment_id, parcel_id, article_id, lot_id) NULLS NOT DISTINCT;

-- Assets that were picked. is_open as of articles: an asset is on one open fulfillment at most.
CREATE TABLE fulfillments.piece (
    organization_id text COLLATE "C" NOT NULL,
    article_id text COLLATE "C" NOT NULL,
    asset_id text COLLATE "C" NOT NULL,
    fulfillment_id text COLLATE "C" NOT NULL,
    serial_number text NOT NULL,
    is_open boolean NOT NULL DEFAULT true,
    PRIMARY KEY (organization_id, article_id, asset_id)
);
CREATE UNIQUE INDEX piece_open ON fulfillments.piece (organization_id, asset_id) WHERE is_open;
CREATE INDEX piece_fulfillment ON fulfillments.piece (organization_id, fulfillment_id);
SELECT wharf.protect_table(t::regclass)
FROM unnest(ARRAY['fulfillments.fulfillment', 'fulfillments.article', 'fulfillments.reservation',
    'fulfillments.content', 'fulfillments.piece']) AS t;
