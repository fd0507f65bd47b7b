package ops

// Texts says what an operator sees of conversations (console.texts). The gateway withholds the rest itself, so that the socket, the
// console and the verbs have the same.
type Texts string

// The values. TextsLengths shows who, when, how long, tools by name and their exit codes. TextsNone shows no conversation at all.
const (
	TextsAll     Texts = "all"
	TextsLengths Texts = "lengths"
	TextsNone    Texts = "none"
)

// All reports whether texts are shown. The empty value is TextsAll.
func (t Texts) All() bool { return t == "" || t == TextsAll }

// Refused is the answer to a question that cannot be answered without the texts of what.
func (t Texts) Refused(what string) *Error {
	return &Error{
		Code: CodeForbidden, Message: "operators do not see " + what + `: console.texts is "` + string(t) + `"`,
		Hint: "the config of the gateway decides it",
	}
}
