package ops

// OutputQuery selects a part of what a process has written.
type OutputQuery struct {
	PID int
	// After is the offset in bytes behind which the answer begins; below 0 it counts from the end.
	After int64
	// Limit is how many bytes at most; 0, and more than MaxPageBytes, is MaxPageBytes.
	Limit int
	// By is who asks, for the audit.
	By Actor
}

// Output is a part of what a process has written, standard output and error in order of arrival. Secrets are masked; control
// characters are as they were written.
type Output struct {
	PID     int    `json:"pid"`
	Session string `json:"session"`
	Command string `json:"command"`
	Text    string `json:"text"`
	// Next is OutputQuery.After of the following part, and Total how many bytes the process has written. The gateway keeps the
	// beginning and the end: Missed is how many bytes before Text are not kept.
	Next   int64 `json:"next"`
	Total  int64 `json:"total"`
	Missed int64 `json:"missed"`
	// LastAt is when it wrote last, zero if it has not.
	LastAt Time `json:"last_at"`
	// Exit is the exit code of a process that has ended, absent while it runs.
	Exit *int `json:"exit,omitempty"`
	// Withheld means that Text is not shown, because of console.texts.
	Withheld bool `json:"withheld,omitempty"`
}
