package ops

// LogQuery selects lines of the gateway's log. The zero value selects the newest of all.
type LogQuery struct {
	// About keeps the lines about one thing: those that have it as a field, as a session's key, an adapter's name, a pid, or the id of a
	// turn or request. Empty: all.
	About string
	// Level keeps the lines from this level on: debug, info, warn or error. Empty: all.
	Level string
	// Limit is how many lines at most; 0 is DefaultLimit, more than MaxLimit is MaxLimit.
	Limit int
	// After is the ID of a line: only newer ones are wanted. Cursor is the Next of the page before: older ones are.
	After, Cursor string
}

// LogLevels are the levels of log lines, from the lowest.
var LogLevels = []string{"debug", "info", "warn", "error"}

// LogLine is a line of the gateway's log. It has no secret and no body of a message.
type LogLine struct {
	// ID is the place of the line in its file. Another line never has it.
	ID    string `json:"id"`
	At    Time   `json:"at"`
	Level string `json:"level"`
	// Text is its message; Fields are its other fields, in their order.
	Text   string     `json:"text"`
	Fields []LogField `json:"fields"`
}

// LogField is a field of a log line, with its value as text.
type LogField struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}
