package model

// Input is what a client of the API sends for a turn in addition to the text of its message. The zero value is a message that is text
// alone, in a conversation whose history the gateway holds.
type Input struct {
	// Given means that the client holds the history: History is the whole context before the message, without what belongs to
	// System. Otherwise the gateway's transcript is.
	Given   bool
	History []Message
	// Results are the results of the client's own functions that the last answer asked for. With them the message has no text.
	Results []Message
	// System follows the agent's own system prompt.
	System string
	// Images belong to the message.
	Images []Image
	// Tools are the client's own functions, which are offered to the model next to the agent's tools. A call of one ends the
	// turn.
	Tools []ToolSpec
	// Params are for every model call of the turn.
	Params Params
}

// Shows reports whether a model has to see something for the turn.
func (in Input) Shows() bool {
	return len(in.Images) > 0 || pictured(in.History)
}

// Outcome is what a client of the API learns of a turn in addition to the text of its answer.
type Outcome struct {
	// Usage is that of all model calls of the turn.
	Usage Usage
	// Finish is why the answer is not whole, or FinishToolCalls; empty: it is whole.
	Finish Finish
	// Calls are what the client must run for the answer to go on.
	Calls []ToolCall
}
