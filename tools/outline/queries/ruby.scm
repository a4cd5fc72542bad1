(class name: (constant) @name) @class
(class name: (scope_resolution name: (constant) @name)) @class
(module name: (constant) @name) @class
(module name: (scope_resolution name: (constant) @name)) @class
(method name: (_) @name) @function
(singleton_method name: (_) @name) @function
(program (assignment left: (constant) @name) @value)

; references

(call method: (identifier) @member)
(constant) @reference
