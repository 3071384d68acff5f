-- wharf: phase=expand

-- Readings of shipping labels (docs/spec/06-inference.md section 3). images_kept: what was made of
-- each image, with its file; wishes: options of the request, as they were settled; found: what was
-- matched without anybody's choice.
CREATE TABLE inference.shipping_label (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    errors jsonb NOT NULL DEFAULT '[]',
    document_classification text COLLATE "C",
    raw_text text NOT NULL DEFAULT '',
    hash text COLLATE "C",
    barcodes jsonb NOT NULL DEFAULT '[]',
    provider_id text COLLATE "C",
    provider_name text,
    provider jsonb,
    tracking_number text,
    tracking_url text,
    service_level_name text COLLATE "C",
    provider_service_level_id text COLLATE "C",
    recipient jsonb,
    sender jsonb,
    recipient_contact_id text COLLATE "C",
    sender_contact_id text COLLATE "C",
    ship_date text COLLATE "C",
    delivery_date text COLLATE "C",
    weight jsonb,
    dimensions jsonb,
    package jsonb,
    purchase_order text,
    order_number text,
    invoice_number text,
    rma_number text,
    reference_number text,
    account_id text COLLATE "C",
    "references" jsonb NOT NULL DEFAULT '[]',
    tags jsonb NOT NULL DEFAULT '[]',
    tracker_id text COLLATE "C",
    tracker_type text COLLATE "C",
    shipment_id text COLLATE "C",
    location_id text COLLATE "C",
    layout_id text COLLATE "C",
    metadata jsonb NOT NULL DEFAULT '{}',
    notes text,
    extraction jsonb,
    engine jsonb,
    images_kept jsonb,
    wishes jsonb,
    found jsonb,
    search_text text,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX shipping_label_created_at
    ON inference.shipping_label (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX shipping_label_updated_at
    ON inference.shipping_label (organization_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX shipping_label_status
    ON inference.shipping_label (organization_id, status, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX shipping_label_number
    ON inference.shipping_label (organization_id, lower(tracking_number), created_at, id)
    WHERE deleted_at IS NULL AND tracking_number IS NOT NULL;
CREATE INDEX shipping_label_hash
    ON inference.shipping_label (organization_id, lower(hash), created_at, id)
    WHERE deleted_at IS NULL AND hash IS NOT NULL;
CREATE INDEX shipping_label_provider_id
    ON inference.shipping_label (organization_id, provider_id, created_at, id)
    WHERE deleted_at IS NULL AND provider_id IS NOT NULL;
CREATE INDEX shipping_label_tracker_id
    ON inference.shipping_label (organization_id, tracker_id, created_at, id)
    WHERE deleted_at IS NULL AND tracker_id IS NOT NULL;
CREATE INDEX shipping_label_shipment_id
    ON inference.shipping_label (organization_id, shipment_id, created_at, id)
    WHERE deleted_at IS NULL AND shipment_id IS NOT NULL;
CREATE INDEX shipping_label_recipient
    ON inference.shipping_label (organization_id, recipient_contact_id, created_at, id)
    WHERE deleted_at IS NULL AND recipient_contact_id IS NOT NULL;
CREATE INDEX shipping_label_sender
    ON inference.shipping_label (organization_id, sender_contact_id, created_at, id)
    WHERE deleted_at IS NULL AND sender_contact_id IS NOT NULL;
CREATE INDEX shipping_label_location_id
    ON inference.shipping_label (organization_id, location_id, created_at, id)
    WHERE deleted_at IS NULL;
CREATE INDEX shipping_label_layout_id
    ON inference.shipping_label (organization_id, layout_id, created_at, id)
    WHERE deleted_at IS NULL AND layout_id IS NOT NULL;
CREATE INDEX shipping_label_contained
    ON inference.shipping_label USING gin (errors, tags, metadata jsonb_path_ops);
CREATE INDEX shipping_label_search_text
    ON inference.shipping_label USING gin (wharf.fold(search_text) public.gin_trgm_ops);
SELECT wharf.protect_table('inference.shipping_label');

-- Contacts that somebody chose by hand for a name as it was looked for (section 6): the next label
-- with this name is more likely theirs.
CREATE TABLE inference.choice (
    organization_id text COLLATE "C" NOT NULL,
    searched_name text NOT NULL,
    contact_id text COLLATE "C" NOT NULL,
    chosen_at timestamptz(3) NOT NULL,
    PRIMARY KEY (organization_id, searched_name)
);
CREATE INDEX choice_contact ON inference.choice (organization_id, contact_id);
SELECT wharf.protect_table('inference.choice');
