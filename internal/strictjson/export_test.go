package strictjson

// Storable makes storable visible to the tests.
var Storable = storable
