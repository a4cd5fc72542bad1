(class_declaration name: (name) @name) @class
(interface_declaration name: (name) @name) @class
(trait_declaration name: (name) @name) @class
(enum_declaration name: (name) @name) @class
(function_definition name: (name) @name) @function
(method_declaration name: (name) @name) @function

; references

(function_call_expression function: (name) @reference)
(member_call_expression name: (name) @member)
(scoped_call_expression name: (name) @member)
(scoped_call_expression scope: (name) @reference)
(object_creation_expression (name) @reference)
(named_type (name) @reference)
(base_clause (name) @reference)
(class_interface_clause (name) @reference)
(namespace_use_clause (qualified_name (name) @reference))
