package state

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// networked are file systems whose locks or whose renames another machine may
// not see in time.
var networked = map[int64]string{
	0x6969:     "NFS",
	0x517b:     "SMB",
	0xff534d42: "CIFS",
	0xfe534d42: "SMB",
	0x5346414f: "AFS",
	0x6b414653: "AFS",
	0x73757245: "Coda",
	0x564c:     "NCP",
	0x01021997: "9P",
	0x00c36400: "Ceph",
	0x0bd00bd0: "Lustre",
	0x47504653: "GPFS",
	0x01161970: "GFS2",
	0x7461636f: "OCFS2",
	0x20030528: "OrangeFS",
	0x786f4256: "a VirtualBox share",
}

const fuseMagic = 0x65735546

// fuseNetworked are parts of the type of a FUSE file system that is one of a
// network.
var fuseNetworked = []string{"sshfs", "gluster", "rclone", "s3fs", "gcsfuse", "blobfuse", "davfs", "curlftpfs", "ceph", "mfs", "juicefs", "smbnetfs", "virtiofs"}

// fileSystem is replaced by tests: no test machine has them all.
var fileSystem = func(path string) (magic int64, kind string, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, "", err
	}
	magic = int64(st.Type) & 0xffffffff
	if magic == fuseMagic {
		kind = mountType(path)
	}
	return magic, kind, nil
}

func checkFileSystem(path string) error {
	magic, kind, err := fileSystem(path)
	if err != nil {
		return failBecause(ErrUnsafe, err, "the project's file system cannot be examined")
	}
	name := networked[magic]
	for _, part := range fuseNetworked {
		if magic == fuseMagic && strings.Contains(kind, part) {
			name = kind
		}
	}
	if name == "" {
		return nil
	}
	return fixed(fail(ErrUnsafe, "the project is on a network file system (%s), where locks do not hold", name), "keep the project on a local disk")
}

// mountType is the type of the mount that path lies on, from mountinfo.
func mountType(path string) string {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_MNT_ID, &st); err != nil {
		return ""
	}
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	return typeOfMount(string(b), st.Mnt_id)
}

// typeOfMount finds the file system type of a mount. Its fields are separated by
// spaces, and spaces and newlines of a path are written as octal escapes.
func typeOfMount(mountinfo string, id uint64) string {
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(line, " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if ok && len(fields) > 0 && len(kind) > 0 && fields[0] == decimal(id) {
			return kind[0]
		}
	}
	return ""
}
