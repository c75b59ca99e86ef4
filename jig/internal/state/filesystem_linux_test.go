package state

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// rule: J-113
func TestANetworkFileSystemIsRefused(t *testing.T) {
	real := fileSystem
	t.Cleanup(func() { fileSystem = real })
	for _, tc := range []struct {
		magic int64
		kind  string
		ok    bool
	}{
		{0xef53, "", true},      // ext4
		{0x01021994, "", true},  // tmpfs
		{0x6969, "", false},     // NFS
		{0xff534d42, "", false}, // CIFS
		{0xfe534d42, "", false}, // SMB 2
		{0x01021997, "", false}, // 9P
		{0x00c36400, "", false}, // Ceph
		{fuseMagic, "fuseblk", true},
		{fuseMagic, "fuse.gocryptfs", true},
		{fuseMagic, "fuse.sshfs", false},
		{fuseMagic, "virtiofs", false},
	} {
		fileSystem = func(string) (int64, string, error) { return tc.magic, tc.kind, nil }
		_, err := Create(t.TempDir())
		if tc.ok {
			require.NoError(t, err, "%x %s", tc.magic, tc.kind)
			continue
		}
		require.ErrorIs(t, err, ErrUnsafe, "%x %s", tc.magic, tc.kind)
		require.ErrorContains(t, err, "network file system")
	}
	fileSystem = func(string) (int64, string, error) { return 0, "", errors.New("no answer") }
	_, err := Create(t.TempDir())
	require.ErrorIs(t, err, ErrUnsafe)
}

// A mount point may have any name, and mountinfo writes what would break its
// lines as escapes.
func TestMountsWithOddNamesAreReadRight(t *testing.T) {
	info := "24 1 0:22 / /sys rw - sysfs sysfs rw\n" +
		`31 24 0:30 / /mnt/a\040b\012c rw,relatime shared:1 master:2 - fuse.sshfs host:/x rw` + "\n" +
		"310 24 8:1 / / rw - ext4 /dev/sda1 rw\n\n"
	require.Equal(t, "fuse.sshfs", typeOfMount(info, 31))
	require.Equal(t, "ext4", typeOfMount(info, 310))
	require.Empty(t, typeOfMount(info, 3))
	require.NotEmpty(t, mountType("/"))
}
