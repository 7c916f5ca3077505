package promptfn

// Direct is the handler of direct invocations.
var Direct = direct
