-- wharf: phase=expand

-- Manifests: goods on their way to a location (spec 03 section 7). changes counts writes of the
-- articles, containers and receipts, which have tables of their own.
CREATE TABLE manifests.manifest (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    location_id text COLLATE "C" NOT NULL,
    sender jsonb,
    recipient jsonb,
    sender_contact_id text COLLATE "C",
    recipient_contact_id text COLLATE "C",
    order_number text,
    invoice_number text,
    purchase_order_number text,
    reference_number text,
    customer_purchase_order_number text,
    container_number text,
    load_number text,
    external_id text COLLATE "C",
    alternate_external_id text COLLATE "C",
    special_handling_tags jsonb NOT NULL DEFAULT '[]',
    estimated_arrival_at timestamptz(3),
    arrived_at timestamptz(3),
    processed_at timestamptz(3),
    reason_code_id text COLLATE "C",
    reason_code text,
    comment text,
    blind boolean NOT NULL DEFAULT false,
    article_count integer NOT NULL DEFAULT 0,
    open_count integer NOT NULL DEFAULT 0,
    receipt_count integer NOT NULL DEFAULT 0,
    changes bigint NOT NULL DEFAULT 0,
    search_text text,
    metadata jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX manifest_created_at ON manifests.manifest (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX manifest_updated_at ON manifests.manifest (organization_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX manifest_estimated_arrival_at ON manifests.manifest (organization_id, estimated_arrival_at, id) WHERE deleted_at IS NULL;
CREATE INDEX manifest_arrived_at ON manifests.manifest (organization_id, arrived_at, id) WHERE deleted_at IS NULL;
CREATE INDEX manifest_processed_at ON manifests.manifest (organization_id, processed_at, id) WHERE deleted_at IS NULL;
CREATE INDEX manifest_status_order ON manifests.manifest (organization_id, lower(status) COLLATE "C", id) WHERE deleted_at IS NULL;
CREATE INDEX manifest_status ON manifests.manifest (organization_id, status, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX manifest_location ON manifests.manifest (organization_id, location_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX manifest_reason ON manifests.manifest (organization_id, reason_code_id, created_at, id) WHERE deleted_at IS NULL AND reason_code_id IS NOT NULL;
CREATE INDEX manifest_sender ON manifests.manifest (organization_id, sender_contact_id, created_at, id) WHERE deleted_at IS NULL AND sender_contact_id IS NOT NULL;
CREATE INDEX manifest_recipient ON manifests.manifest (organization_id, recipient_contact_id, created_at, id) WHERE deleted_at IS NULL AND recipient_contact_id IS NOT NULL;
CREATE INDEX manifest_order_number ON manifests.manifest (organization_id, lower(order_number), created_at, id) WHERE deleted_at IS NULL AND order_number IS NOT NULL;
CREATE INDEX manifest_purchase_order_number ON manifests.manifest (organization_id, lower(purchase_order_number), created_at, id) WHERE deleted_at IS NULL AND purchase_order_number IS NOT NULL;
CREATE INDEX manifest_reference_number ON manifests.manifest (organization_id, lower(reference_number), created_at, id) WHERE deleted_at IS NULL AND reference_number IS NOT NULL;
CREATE INDEX manifest_container_number ON manifests.manifest (organization_id, lower(container_number), created_at, id) WHERE deleted_at IS NULL AND container_number IS NOT NULL;
CREATE INDEX manifest_load_number ON manifests.manifest (organization_id, lower(load_number), created_at, id) WHERE deleted_at IS NULL AND load_number IS NOT NULL;
CREATE INDEX manifest_external_id ON manifests.manifest (organization_id, external_id, created_at, id) WHERE deleted_at IS NULL AND external_id IS NOT NULL;
CREATE INDEX manifest_blind ON manifests.manifest (organization_id, created_at, id) WHERE deleted_at IS NULL AND blind;
CREATE INDEX manifest_tags ON manifests.manifest USING gin (special_handling_tags);
CREATE INDEX manifest_metadata ON manifests.manifest USING gin (metadata jsonb_path_ops);
CREATE INDEX manifest_search ON manifests.manifest USING gin (wharf.fold(search_text) public.gin_trgm_ops);

-- Lines of manifests. received and defective are what people say, booked and booked_defective what
-- receipts put into stock. expected: what stands as manifested of it, at the layout expected_layout
-- (null: the default one).
CREATE TABLE manifests.article (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    manifest_id text COLLATE "C" NOT NULL,
    location_id text COLLATE "C" NOT NULL,
    parcel_id text COLLATE "C",
    position bigint NOT NULL,
    item_id text COLLATE "C" NOT NULL,
    unexpected boolean NOT NULL DEFAULT false,
    requested numeric(15, 4) NOT NULL DEFAULT 0 CHECK (requested >= 0),
    packed numeric(15, 4) NOT NULL DEFAULT 0 CHECK (packed >= 0),
    received numeric(15, 4) NOT NULL DEFAULT 0 CHECK (received >= 0),
    defective numeric(15, 4) NOT NULL DEFAULT 0 CHECK (defective >= 0 AND defective <= received),
    booked numeric(15, 4) NOT NULL DEFAULT 0 CHECK (booked >= 0 AND booked <= received),
    booked_defective numeric(15, 4) NOT NULL DEFAULT 0 CHECK (booked_defective >= 0 AND booked_defective <= booked),
    expected numeric(15, 4) NOT NULL DEFAULT 0 CHECK (expected >= 0),
    expected_layout_id text COLLATE "C",
    unit_id text COLLATE "C",
    layout_id text COLLATE "C",
    lot_number text COLLATE "C",
    expires_at timestamptz(3),
    serial_numbers jsonb NOT NULL DEFAULT '[]',
    serials_received jsonb NOT NULL DEFAULT '[]',
    reason_code_id text COLLATE "C",
    attributes jsonb NOT NULL DEFAULT '[]',
    special_handling_tags jsonb NOT NULL DEFAULT '[]',
    value bigint,
    harmonized_code text,
    origin_country text,
    comment text,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX article_manifest ON manifests.article (organization_id, manifest_id, position, id) WHERE deleted_at IS NULL;
CREATE INDEX article_created_at ON manifests.article (organization_id, manifest_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX article_item ON manifests.article (organization_id, item_id) WHERE deleted_at IS NULL;
CREATE INDEX article_layout ON manifests.article (organization_id, layout_id) WHERE layout_id IS NOT NULL;

-- Parcels of manifests: known before they come. stored: it stands unopened, as a row of the module
-- parcels with the same id. made: there is such a row.
CREATE TABLE manifests.parcel (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    manifest_id text COLLATE "C" NOT NULL,
    position bigint NOT NULL,
    tracking_number text,
    container_number text,
    layout_id text COLLATE "C",
    unpacked boolean NOT NULL DEFAULT false,
    defective boolean NOT NULL DEFAULT false,
    missing boolean NOT NULL DEFAULT false,
    received boolean NOT NULL DEFAULT false,
    stored boolean NOT NULL DEFAULT false,
    made boolean NOT NULL DEFAULT false,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX parcel_manifest ON manifests.parcel (organization_id, manifest_id, position, id);
CREATE INDEX parcel_layout ON manifests.parcel (organization_id, layout_id) WHERE layout_id IS NOT NULL;

-- Receipts: what came, act by act. A row changes only when another receipt reverses it.
CREATE TABLE manifests.receipt (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    manifest_id text COLLATE "C" NOT NULL,
    location_id text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    parcel_id text COLLATE "C",
    layout_id text COLLATE "C",
    lines jsonb NOT NULL DEFAULT '[]',
    item_ids jsonb NOT NULL DEFAULT '[]',
    group_id text COLLATE "C",
    reverses_receipt_id text COLLATE "C",
    reversed_by_receipt_id text COLLATE "C",
    reason_code_id text COLLATE "C",
    comment text,
    correction boolean NOT NULL DEFAULT false,
    metadata jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX receipt_manifest ON manifests.receipt (organization_id, manifest_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX receipt_items ON manifests.receipt USING gin (item_ids);
SELECT wharf.protect_table(t::regclass)
FROM unnest(ARRAY['manifests.manifest', 'manifests.article', 'manifests.parcel', 'manifests.receipt']) AS t;
