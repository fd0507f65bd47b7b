package external

const programArgument = "be-program"

func beProgram(string) {}
