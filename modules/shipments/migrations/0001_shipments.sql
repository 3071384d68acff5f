-- wharf: phase=expand

-- Shipments and their histories (spec 03 sections 2 to 4).
CREATE TABLE shipments.shipment (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    filters jsonb NOT NULL DEFAULT '[]',
    type text COLLATE "C" NOT NULL,
    tracking_number text,
    provider_id text COLLATE "C",
    provider jsonb,
    tracking_url text,
    service_level_id text COLLATE "C",
    sender jsonb,
    recipient jsonb,
    sender_contact_id text COLLATE "C",
    recipient_contact_id text COLLATE "C",
    parcels jsonb NOT NULL DEFAULT '[]',
    weight numeric(15, 4),
    dimensions jsonb,
    rates jsonb NOT NULL DEFAULT '[]',
    recommended_rate jsonb,
    purchased_rate jsonb,
    rates_generated_at timestamptz(3),
    amount bigint,
    billed_amount bigint,
    currency text NOT NULL,
    paid boolean NOT NULL DEFAULT false,
    payment_reference text,
    label_url text,
    refund_status text COLLATE "C",
    rma_number text,
    invoice_number text,
    order_number text,
    purchase_order text,
    reference_number text,
    account_id text COLLATE "C",
    estimated_delivery_at timestamptz(3),
    pickup_at timestamptz(3),
    delivered_at timestamptz(3),
    container_id text COLLATE "C",
    tracker_id text COLLATE "C",
    fulfillment_id text COLLATE "C",
    manifest_id text COLLATE "C",
    location_id text COLLATE "C",
    layout_id text COLLATE "C",
    coordinates jsonb,
    parent_id text COLLATE "C",
    is_parent boolean NOT NULL DEFAULT false,
    children_count bigint NOT NULL DEFAULT 0,
    tags jsonb NOT NULL DEFAULT '[]',
    notes text,
    customs jsonb,
    options jsonb,
    metadata jsonb NOT NULL DEFAULT '{}',
    sender_address_id text COLLATE "C",
    recipient_address_id text COLLATE "C",
    search_text text,
    history_count bigint NOT NULL DEFAULT 0,
    leg bigint NOT NULL DEFAULT 0,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX shipment_created_at ON shipments.shipment (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX shipment_updated_at ON shipments.shipment (organization_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX shipment_estimated_delivery_at ON shipments.shipment (organization_id, estimated_delivery_at, id) WHERE deleted_at IS NULL;
CREATE INDEX shipment_delivered_at ON shipments.shipment (organization_id, delivered_at, id) WHERE deleted_at IS NULL;
CREATE INDEX shipment_pickup_at ON shipments.shipment (organization_id, pickup_at, id) WHERE deleted_at IS NULL;
CREATE INDEX shipment_estimated_delivery_at_down ON shipments.shipment (organization_id, estimated_delivery_at DESC NULLS LAST, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX shipment_delivered_at_down ON shipments.shipment (organization_id, delivered_at DESC NULLS LAST, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX shipment_status_order ON shipments.shipment (organization_id, lower(status) COLLATE "C", id) WHERE deleted_at IS NULL;
CREATE INDEX shipment_status ON shipments.shipment (organization_id, status, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX shipment_type ON shipments.shipment (organization_id, type, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX shipment_provider ON shipments.shipment (organization_id, provider_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX shipment_location ON shipments.shipment (organization_id, location_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX shipment_layout ON shipments.shipment (organization_id, layout_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX shipment_tracker_id ON shipments.shipment (organization_id, tracker_id, created_at, id) WHERE deleted_at IS NULL AND tracker_id IS NOT NULL;
CREATE INDEX shipment_container_id ON shipments.shipment (organization_id, container_id, created_at, id) WHERE deleted_at IS NULL AND container_id IS NOT NULL;
CREATE INDEX shipment_parent_id ON shipments.shipment (organization_id, parent_id, created_at, id) WHERE deleted_at IS NULL AND parent_id IS NOT NULL;
CREATE INDEX shipment_sender_contact_id ON shipments.shipment (organization_id, sender_contact_id, created_at, id) WHERE deleted_at IS NULL AND sender_contact_id IS NOT NULL;
CREATE INDEX shipment_recipient_contact_id ON shipments.shipment (organization_id, recipient_contact_id, created_at, id) WHERE deleted_at IS NULL AND recipient_contact_id IS NOT NULL;
CREATE INDEX shipment_fulfillment_id ON shipments.shipment (organization_id, fulfillment_id, created_at, id) WHERE deleted_at IS NULL AND fulfillment_id IS NOT NULL;
CREATE INDEX shipment_manifest_id ON shipments.shipment (organization_id, manifest_id, created_at, id) WHERE deleted_at IS NULL AND manifest_id IS NOT NULL;
CREATE INDEX shipment_sender_address_id ON shipments.shipment (organization_id, sender_address_id, created_at, id) WHERE deleted_at IS NULL AND sender_address_id IS NOT NULL;
CREATE INDEX shipment_recipient_address_id ON shipments.shipment (organization_id, recipient_address_id, created_at, id) WHERE deleted_at IS NULL AND recipient_address_id IS NOT NULL;
CREATE INDEX shipment_refund_status ON shipments.shipment (organization_id, refund_status, created_at, id) WHERE deleted_at IS NULL AND refund_status IS NOT NULL;
CREATE INDEX shipment_tracking_number ON shipments.shipment (organization_id, lower(tracking_number), created_at, id) WHERE deleted_at IS NULL AND tracking_number IS NOT NULL;
CREATE INDEX shipment_rma_number ON shipments.shipment (organization_id, lower(rma_number), created_at, id) WHERE deleted_at IS NULL AND rma_number IS NOT NULL;
CREATE INDEX shipment_invoice_number ON shipments.shipment (organization_id, lower(invoice_number), created_at, id) WHERE deleted_at IS NULL AND invoice_number IS NOT NULL;
CREATE INDEX shipment_order_number ON shipments.shipment (organization_id, lower(order_number), created_at, id) WHERE deleted_at IS NULL AND order_number IS NOT NULL;
CREATE INDEX shipment_purchase_order ON shipments.shipment (organization_id, lower(purchase_order), created_at, id) WHERE deleted_at IS NULL AND purchase_order IS NOT NULL;
CREATE INDEX shipment_reference_number ON shipments.shipment (organization_id, lower(reference_number), created_at, id) WHERE deleted_at IS NULL AND reference_number IS NOT NULL;
CREATE INDEX shipment_parents ON shipments.shipment (organization_id, created_at, id) WHERE deleted_at IS NULL AND is_parent;
CREATE INDEX shipment_filters ON shipments.shipment USING gin (filters);
CREATE INDEX shipment_tags ON shipments.shipment USING gin (tags);
CREATE INDEX shipment_metadata ON shipments.shipment USING gin (metadata jsonb_path_ops);
-- Searches fold accents, as those of other lists.
CREATE INDEX shipment_search_text ON shipments.shipment USING gin (wharf.fold(search_text) public.gin_trgm_ops);

-- One dated line of a shipment's history. position counts them as they came; hash tells a repeated
-- one.
CREATE TABLE shipments.tracking_update (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    shipment_id text COLLATE "C" NOT NULL,
    status text COLLATE "C",
    comment text,
    occurred_at timestamptz(3) NOT NULL,
    location_id text COLLATE "C",
    layout_id text COLLATE "C",
    container_id text COLLATE "C",
    contact_id text COLLATE "C",
    user_id text COLLATE "C",
    vehicle_id text COLLATE "C",
    address jsonb,
    coordinates jsonb,
    images jsonb NOT NULL DEFAULT '[]',
    provider_status jsonb,
    comment_only boolean NOT NULL DEFAULT false,
    source text COLLATE "C" NOT NULL,
    event text COLLATE "C",
    hash text COLLATE "C" NOT NULL,
    position bigint NOT NULL,
    created_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX tracking_update_hash ON shipments.tracking_update (organization_id, shipment_id, hash);
CREATE INDEX tracking_update_history ON shipments.tracking_update (organization_id, shipment_id, occurred_at, position);
SELECT wharf.protect_table(t::regclass) FROM unnest(ARRAY['shipments.shipment', 'shipments.tracking_update']) AS t;
