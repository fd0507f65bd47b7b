package ops

// Message is one message of a conversation, exactly as the store has it: its text is not cleaned.
type Message struct {
	// ID orders the messages of a conversation: a later one has a larger number.
	ID   string `json:"id"`
	Turn string `json:"turn"`
	// Role is system, user, assistant or tool.
	Role string `json:"role"`
	// Who wrote it: the user as its platform names them, or the tool; empty for the agent, and where it is not known.
	Who  string `json:"who"`
	At   Time   `json:"at"`
	Text string `json:"text"`
	// Calls are the tool calls that the agent made with it; Call is the id of the call that a tool's message answers.
	Calls []MessageCall `json:"calls"`
	Call  string        `json:"call,omitempty"`
}

// MessageCall is one call of a tool. Arguments are JSON as the model wrote them.
type MessageCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// MessageQuery selects messages of one conversation, oldest first.
type MessageQuery struct {
	// After is the ID of the message behind which the page begins; empty: it begins with the first.
	After string
	// Limit is as in Query.
	Limit int
}

// MaxPageBytes is how many bytes of text a page of messages has before it ends early, with at least one message.
const MaxPageBytes = 1 << 20
