-- wharf: phase=expand

-- Trackers (spec 03 section 5). What they show of their legs is kept here, so that lists need no
-- look at these.
CREATE TABLE trackers.tracker (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    tracking_number text,
    provider_id text COLLATE "C",
    provider jsonb,
    tracking_url text,
    current_shipment_id text COLLATE "C",
    status text COLLATE "C" NOT NULL,
    filters jsonb NOT NULL DEFAULT '[]',
    chained_status text COLLATE "C" NOT NULL,
    auto_close_shipments_option text COLLATE "C" NOT NULL,
    has_parent_shipment boolean NOT NULL DEFAULT false,
    estimated_delivery_at timestamptz(3),
    pickup_at timestamptz(3),
    delivered_at timestamptz(3),
    coordinates jsonb,
    sender jsonb,
    recipient jsonb,
    fulfillment_id text COLLATE "C",
    location_id text COLLATE "C",
    layout_id text COLLATE "C",
    destination jsonb,
    sender_contact_id text COLLATE "C",
    recipient_contact_id text COLLATE "C",
    inference_id text COLLATE "C",
    tags jsonb NOT NULL DEFAULT '[]',
    provider_candidates jsonb NOT NULL DEFAULT '[]',
    metadata jsonb NOT NULL DEFAULT '{}',
    has_plain_shipment boolean NOT NULL DEFAULT false,
    legs_count bigint NOT NULL DEFAULT 0,
    history_count bigint NOT NULL DEFAULT 0,
    legs_hash text,
    comments_count bigint NOT NULL DEFAULT 0,
    pinned_shipment_id text COLLATE "C",
    merged_ids jsonb NOT NULL DEFAULT '[]',
    search_text text,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX tracker_created_at ON trackers.tracker (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX tracker_updated_at ON trackers.tracker (organization_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX tracker_estimated_delivery_at ON trackers.tracker (organization_id, estimated_delivery_at, id) WHERE deleted_at IS NULL;
CREATE INDEX tracker_delivered_at ON trackers.tracker (organization_id, delivered_at, id) WHERE deleted_at IS NULL;
CREATE INDEX tracker_pickup_at ON trackers.tracker (organization_id, pickup_at, id) WHERE deleted_at IS NULL;
CREATE INDEX tracker_estimated_delivery_at_down ON trackers.tracker (organization_id, estimated_delivery_at DESC NULLS LAST, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX tracker_status_order ON trackers.tracker (organization_id, lower(status) COLLATE "C", id) WHERE deleted_at IS NULL;
CREATE INDEX tracker_status ON trackers.tracker (organization_id, status, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX tracker_type ON trackers.tracker (organization_id, type, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX tracker_provider ON trackers.tracker (organization_id, provider_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX tracker_location ON trackers.tracker (organization_id, location_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX tracker_layout ON trackers.tracker (organization_id, layout_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX tracker_current_shipment_id ON trackers.tracker (organization_id, current_shipment_id, created_at, id) WHERE deleted_at IS NULL AND current_shipment_id IS NOT NULL;
CREATE INDEX tracker_sender_contact_id ON trackers.tracker (organization_id, sender_contact_id, created_at, id) WHERE deleted_at IS NULL AND sender_contact_id IS NOT NULL;
CREATE INDEX tracker_recipient_contact_id ON trackers.tracker (organization_id, recipient_contact_id, created_at, id) WHERE deleted_at IS NULL AND recipient_contact_id IS NOT NULL;
CREATE INDEX tracker_inference_id ON trackers.tracker (organization_id, inference_id, created_at, id) WHERE deleted_at IS NULL AND inference_id IS NOT NULL;
CREATE INDEX tracker_tracking_number ON trackers.tracker (organization_id, lower(tracking_number), created_at, id) WHERE deleted_at IS NULL AND tracking_number IS NOT NULL;
CREATE INDEX tracker_parents ON trackers.tracker (organization_id, created_at, id) WHERE deleted_at IS NULL AND has_parent_shipment;
CREATE INDEX tracker_plain ON trackers.tracker (organization_id, created_at, id) WHERE deleted_at IS NULL AND has_plain_shipment IS NOT TRUE;
CREATE INDEX tracker_filters ON trackers.tracker USING gin (filters);
CREATE INDEX tracker_tags ON trackers.tracker USING gin (tags);
CREATE INDEX tracker_metadata ON trackers.tracker USING gin (metadata jsonb_path_ops);
-- Searches fold accents, as those of other lists.
CREATE INDEX tracker_search_text ON trackers.tracker USING gin (wharf.fold(search_text) public.gin_trgm_ops);
SELECT wharf.protect_table('trackers.tracker');
