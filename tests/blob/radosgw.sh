#!/bin/bash
# The suite of the blob store, and direct links, against Ceph's own S3 server, by hand:   tests/blob/radosgw.sh [BUILD]
#
# A cluster of one monitor, one OSD in memory and radosgw in a temporary folder; needs root and Debian's ceph-mon, ceph-osd, ceph-mgr,
# ceph-common and radosgw. ./test runs the same suite against a smaller server (tests/api/s3.py).
set -eu
cd "$(dirname "$(readlink -f "$0")")/../.."
build=${1:-build}
dir=$(mktemp -d)
port=$((20000 + RANDOM % 20000))
conf=$dir/ceph.conf fsid=$(uuidgen)
cleanup() {
    kill $(jobs -p) 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$dir"
}
trap cleanup EXIT
mkdir -p "$dir"/{mon,osd,mgr,rgw,run,log}
cat >"$conf" <<EOF
[global]
fsid = $fsid
mon_host = [v2:127.0.0.1:$((port + 1)),v1:127.0.0.1:$((port + 2))]
mon_initial_members = a
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 1
osd_crush_chooseleaf_type = 0
mon_allow_pool_size_one = true
mon_allow_pool_delete = true
mon_max_pg_per_osd = 1000
osd_objectstore = memstore
memstore_device_bytes = 2147483648
mon_data = $dir/mon
osd_data = $dir/osd
mgr_data = $dir/mgr
rgw_data = $dir/rgw
run_dir = $dir/run
admin_socket = $dir/run/\$name.asok
log_file = $dir/log/\$name.log
pid_file = $dir/run/\$name.pid
keyring = $dir/keyring
osd_pool_default_pg_autoscale_mode = off
[client.rgw]
rgw_frontends = beast endpoint=127.0.0.1:$port
rgw_thread_pool_size = 64
EOF
ceph-authtool --create-keyring "$dir/keyring" --gen-key -n mon. --cap mon 'allow *' >/dev/null 2>&1
ceph-authtool "$dir/keyring" --gen-key -n client.admin --cap mon 'allow *' --cap osd 'allow *' --cap mgr 'allow *' >/dev/null
ceph-authtool "$dir/keyring" --gen-key -n client.rgw --cap mon 'allow *' --cap osd 'allow *' >/dev/null
ceph-authtool "$dir/keyring" --gen-key -n osd.0 --cap mon 'allow profile osd' --cap osd 'allow *' --cap mgr 'allow profile osd' >/dev/null
monmaptool --create --fsid "$fsid" --addv a "[v2:127.0.0.1:$((port + 1)),v1:127.0.0.1:$((port + 2))]" "$dir/monmap" >/dev/null
ceph-mon -c "$conf" --mkfs -i a --monmap "$dir/monmap" --keyring "$dir/keyring"
ceph-mon -c "$conf" -i a -f >"$dir/log/mon.out" 2>&1 &
until timeout 20 ceph -c "$conf" -s >/dev/null 2>&1; do sleep 0.5; done
osd=$(ceph -c "$conf" osd create)
ceph-osd -c "$conf" -i "$osd" --mkfs --osd-uuid "$(uuidgen)" >"$dir/log/osd.mkfs" 2>&1
ceph -c "$conf" osd crush add "osd.$osd" 1 root=default >/dev/null 2>&1
ceph-osd -c "$conf" -i "$osd" -f >"$dir/log/osd.out" 2>&1 &
until ceph -c "$conf" osd stat 2>/dev/null | grep -q ' 1 up'; do sleep 0.5; done
radosgw -c "$conf" -n client.rgw -f >"$dir/log/rgw.out" 2>&1 &
for _ in $(seq 240); do
    curl -s -o /dev/null "http://127.0.0.1:$port/" && break
    sleep 0.5
done
radosgw-admin -c "$conf" user create --uid wharf --display-name Wharf --access-key test-key --secret-key test-secret >/dev/null 2>&1
/usr/bin/python3 - "$port" <<'EOF'
import sys
import botocore.session
s = botocore.session.get_session()
c = s.create_client("s3", endpoint_url=f"http://127.0.0.1:{sys.argv[1]}", aws_access_key_id="test-key", aws_secret_access_key="test-secret", region_name="us-east-1")
c.create_bucket(Bucket="wharf")
EOF
echo "radosgw $(radosgw --version | cut -d' ' -f3) serves on port $port"
WHARF_S3="http://127.0.0.1:$port wharf test-key test-secret" "$build/tests/unit/unit_blob_store"
BUILD=$(readlink -f "$build") /usr/bin/python3 tests/blob/direct_links.py "http://127.0.0.1:$port" wharf test-key test-secret
