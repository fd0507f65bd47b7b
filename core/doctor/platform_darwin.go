package doctor

import "golang.org/x/sys/unix"

// missing is what macOS cannot do, and what happens instead; one finding each.
var missing = []string{
	"macOS has no subreaper: orphans of tools are found by their session, by earlier scans and by their environment, so one that leaves its session before a scan can outlive its owner and the gateway",
	"macOS has no parent-death signal: after a SIGKILL of the gateway only the guardian ends what tools started",
	"macOS has no pidfds: a signal goes to a pid whose start was read right before it",
	"macOS has no limits for another process: tools share the gateway's limit of processes and its memory (limits.tree_…, limits.tools_… have no effect)",
	"macOS shows the CPU and memory of no other process to this program: both are 0 in the list of processes",
	"macOS does not tell whose a TCP connection is: every caller of the api needs the key, and a tool that has read the key is not refused",
	"macOS shows the environment of the gateway to other programs of its user, so tools can read the secrets in it",
	"macOS gives the next life no way to find what an earlier life kept: with process.survivors = \"adopt\" background commands are refused",
	"macOS does not tell who holds a lock: --replace takes over only from a gateway that answers",
}

// readOnly is the flag of a file system that is mounted read-only.
const readOnly = unix.MNT_RDONLY

// remoteFilesystem is the kind of a file system on which locks and SQLite's shared memory are not to be relied on; else empty.
func remoteFilesystem(disk *unix.Statfs_t) string {
	switch kind := unix.ByteSliceToString(disk.Fstypename[:]); kind {
	case "nfs", "smbfs", "afpfs", "webdav", "macfuse", "osxfuse":
		return kind
	}
	return ""
}

// clockSynced is not known.
func clockSynced() (synced, known bool) { return false, false }
