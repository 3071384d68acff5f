-- wharf: phase=expand

-- Parcels (spec 02 section 7).
CREATE TABLE parcels.parcel (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    location_id text COLLATE "C",
    layout_id text COLLATE "C",
    type text NOT NULL,
    length numeric(15, 4) NOT NULL DEFAULT 0,
    width numeric(15, 4) NOT NULL DEFAULT 0,
    height numeric(15, 4) NOT NULL DEFAULT 0,
    weight numeric(15, 4) NOT NULL DEFAULT 0,
    max_weight_domestic numeric(15, 4),
    max_weight_international numeric(15, 4),
    status text COLLATE "C" NOT NULL,
    unpacked boolean NOT NULL DEFAULT false,
    received boolean NOT NULL DEFAULT false,
    defective boolean NOT NULL DEFAULT false,
    missing boolean NOT NULL DEFAULT false,
    special_handling_tags jsonb NOT NULL DEFAULT '[]',
    external_container_id text COLLATE "C",
    container_number text,
    tracking_number text,
    label_url text,
    contents jsonb NOT NULL DEFAULT '[]',
    shipment_id text COLLATE "C",
    fulfillment_id text COLLATE "C",
    manifest_id text COLLATE "C",
    metadata jsonb NOT NULL DEFAULT '{}',
    item_ids jsonb NOT NULL DEFAULT '[]',
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX parcel_created_at ON parcels.parcel (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX parcel_updated_at ON parcels.parcel (organization_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX parcel_name ON parcels.parcel (organization_id, lower(name) COLLATE "C", id) WHERE deleted_at IS NULL;
CREATE STATISTICS parcels.parcel_names ON lower(name) FROM parcels.parcel;
CREATE INDEX parcel_type ON parcels.parcel (organization_id, lower(type), created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX parcel_status_order ON parcels.parcel (organization_id, lower(status) COLLATE "C", id) WHERE deleted_at IS NULL;
CREATE INDEX parcel_status ON parcels.parcel (organization_id, status, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX parcel_location ON parcels.parcel (organization_id, location_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX parcel_layout ON parcels.parcel (organization_id, layout_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX parcel_shipment_id ON parcels.parcel (organization_id, shipment_id, created_at, id) WHERE deleted_at IS NULL AND shipment_id IS NOT NULL;
CREATE INDEX parcel_fulfillment_id ON parcels.parcel (organization_id, fulfillment_id, created_at, id) WHERE deleted_at IS NULL AND fulfillment_id IS NOT NULL;
CREATE INDEX parcel_manifest_id ON parcels.parcel (organization_id, manifest_id, created_at, id) WHERE deleted_at IS NULL AND manifest_id IS NOT NULL;
CREATE INDEX parcel_tracking_number ON parcels.parcel (organization_id, lower(tracking_number), created_at, id) WHERE deleted_at IS NULL AND tracking_number IS NOT NULL;
CREATE INDEX parcel_container_number ON parcels.parcel (organization_id, lower(container_number), created_at, id) WHERE deleted_at IS NULL AND container_number IS NOT NULL;
CREATE INDEX parcel_unpacked ON parcels.parcel (organization_id, created_at, id) WHERE deleted_at IS NULL AND unpacked;
CREATE INDEX parcel_received ON parcels.parcel (organization_id, created_at, id) WHERE deleted_at IS NULL AND received;
CREATE INDEX parcel_defective ON parcels.parcel (organization_id, created_at, id) WHERE deleted_at IS NULL AND defective;
CREATE INDEX parcel_missing ON parcels.parcel (organization_id, created_at, id) WHERE deleted_at IS NULL AND missing;
CREATE INDEX parcel_tags ON parcels.parcel USING gin (special_handling_tags);
CREATE INDEX parcel_items ON parcels.parcel USING gin (item_ids);
CREATE INDEX parcel_metadata ON parcels.parcel USING gin (metadata jsonb_path_ops);
CREATE INDEX parcel_search_name ON parcels.parcel USING gin (wharf.fold(name) public.gin_trgm_ops);
CREATE INDEX parcel_search_tracking_number ON parcels.parcel USING gin (wharf.fold(tracking_number) public.gin_trgm_ops);
CREATE INDEX parcel_search_container_number ON parcels.parcel USING gin (wharf.fold(container_number) public.gin_trgm_ops);
CREATE INDEX parcel_name_equal ON parcels.parcel (organization_id, lower(name) COLLATE "C", created_at, id) WHERE deleted_at IS NULL;
SELECT wharf.protect_table('parcels.parcel');
