package storebench

// BareItems exports bareItems.
var BareItems = bareItems
