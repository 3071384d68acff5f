-- wharf: phase=expand

-- Businesses of contacts and names of groups, by which labels find them whatever their case,
-- accents and legal forms are (docs/spec/06-inference.md section 9.7). Most contacts name none.
CREATE INDEX contact_business ON contacts.contact (organization_id, contacts.business_key(metadata ->> 'business'))
    WHERE deleted_at IS NULL AND metadata ? 'business';
CREATE INDEX contact_company ON contacts.contact (organization_id, contacts.business_key(metadata ->> 'company'))
    WHERE deleted_at IS NULL AND metadata ? 'company';
CREATE INDEX group_business ON contacts.contact_group (organization_id, contacts.business_key(name))
    WHERE deleted_at IS NULL AND resource = 'contact';
