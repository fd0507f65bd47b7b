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
	// Undone means that a person took it back: the model does not get it any more.
	Undone bool `json:"undone,omitempty"`
	// Length is how many characters Text has, and Tokens about how many tokens the message has for a model, also where Text is withheld.
	Length int `json:"length"`
	Tokens int `json:"tokens"`
	// Exit is the exit code of the command whose result a tool's message is; absent: it has none.
	Exit *int `json:"exit,omitempty"`
	// Withheld means that Text and the arguments of Calls are not shown, because of console.texts.
	Withheld bool `json:"withheld,omitempty"`
}

// MessageCall is one call of a tool. Arguments are JSON as the model wrote them.
type MessageCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// MessageQuery selects messages of one conversation. The messages of a page are always oldest first.
type MessageQuery struct {
	// After is the ID of the message behind which the page begins; empty: it begins with the first.
	After string
	// Back turns the reading around: the page has the messages right before the one with the ID Before, or the newest ones where
	// Before is empty, and its Next goes in Before.
	Back   bool
	Before string
	// Limit is as in Query.
	Limit int
	// By is who asks, for the audit.
	By Actor
}

// MaxPageBytes is how many bytes of text a page of messages has before it ends early, with at least one message.
const MaxPageBytes = 1 << 20

// Hit is a message that a search found.
type Hit struct {
	// Session is the key, Conversation the id and Title the title of the conversation that it belongs to.
	Session      string `json:"session"`
	Conversation string `json:"conversation"`
	Title        string `json:"title"`
	// What follows is as in Message.
	ID   string `json:"id"`
	Turn string `json:"turn"`
	Role string `json:"role"`
	Who  string `json:"who"`
	At   Time   `json:"at"`
	// Snippet is the part of its text around what was found, cleaned, on one line.
	Snippet string `json:"snippet"`
	Undone  bool   `json:"undone,omitempty"`
}

// SearchQuery is what is looked for: messages of users and agents that have all the words of Text, "words in a row" and the
// beginnings of words, of at least four letters, with a *.
type SearchQuery struct {
	Text string
	// Session is the key of a session whose conversations are searched; empty: all are.
	Session string
	// Limit and Cursor are as in Query.
	Limit  int
	Cursor string
	// By is who asks, for the audit.
	By Actor
}

// Found is what a search found, newest first.
type Found struct {
	Page[Hit]
	// Unindexed is how many messages at most the search could not find, because they are not in the index yet.
	Unindexed int64 `json:"unindexed,omitempty"`
}
