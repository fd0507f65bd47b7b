package ops

import "fmt"

// CallerBy is how a caller of the API was let in, or is.
type CallerBy string

// The ways in.
const (
	// ByKernel: the kernel says that the caller's socket belongs to the gateway's own user or to root.
	ByKernel CallerBy = "kernel"
	// ByKey: the caller sent the key.
	ByKey CallerBy = "key"
)

// Caller is the program that sent a message over the API. The zero value is none.
type Caller struct {
	// UID is its user id as the kernel tells it for the other end of the connection; -1: not known.
	UID int      `json:"uid"`
	By  CallerBy `json:"by"`
}

// String is the caller in words: "uid 1000", "uid 1000 with the key", "uid unknown, with the key"; empty for none.
func (c Caller) String() string {
	switch {
	case c.By == "":
		return ""
	case c.UID < 0:
		return "uid unknown, with the key"
	case c.By == ByKey:
		return fmt.Sprintf("uid %d with the key", c.UID)
	}
	return fmt.Sprintf("uid %d", c.UID)
}

// LogKeys adds the caller, if there is one, to the keys of a log line.
func (c Caller) LogKeys(args ...any) []any {
	if c.By == "" {
		return args
	}
	return append(args, "caller", c.String())
}

// APIAccess is whom the api adapter serves, and where the key is. The key itself is in no row, log or answer.
type APIAccess struct {
	// By is ByKey where every caller needs the key that the config names, ByKernel where programs of UID and of root need none.
	By  CallerBy `json:"by"`
	UID int      `json:"uid"`
	// KeySource is the variable or file of the config that holds the key; empty for ByKernel.
	KeySource string `json:"key_source,omitempty"`
	// KeyFile is the file with the generated key, which callers of other users need; empty for ByKey.
	KeyFile string `json:"key_file,omitempty"`
	// Problem is why that file cannot be used: only UID and root are served then.
	Problem string `json:"problem,omitempty"`
}

// String says it in one sentence for an operator.
func (a APIAccess) String() string {
	switch {
	case a.By == ByKey:
		return "every caller needs the key in " + a.KeySource
	case a.Problem != "":
		return fmt.Sprintf("only uid %d and root: %s", a.UID, a.Problem)
	case a.UID == 0:
		return "root needs no key, other callers the key in " + a.KeyFile
	}
	return fmt.Sprintf("uid %d and root need no key, other callers the key in %s", a.UID, a.KeyFile)
}
