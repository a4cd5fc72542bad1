(function_definition declarator: (function_declarator declarator: (identifier) @name)) @function
(function_definition declarator: (function_declarator declarator: (field_identifier) @name)) @function
(function_definition
  declarator: (function_declarator declarator: (qualified_identifier name: (identifier) @name))) @function
(function_definition
  declarator: (_ declarator: (function_declarator declarator: (identifier) @name))) @function
(function_definition
  declarator: (_ (function_declarator declarator: (qualified_identifier name: (identifier) @name)))) @function
(declaration declarator: (function_declarator declarator: (identifier) @name)) @function
(field_declaration declarator: (function_declarator declarator: (field_identifier) @name)) @function
(field_declaration declarator: (_ (function_declarator declarator: (field_identifier) @name))) @function
(class_specifier name: (type_identifier) @name body: (_)) @class
(struct_specifier name: (type_identifier) @name body: (_)) @class
(union_specifier name: (type_identifier) @name body: (_)) @class
(enum_specifier name: (type_identifier) @name body: (_)) @class
(namespace_definition name: (namespace_identifier) @name) @space
(alias_declaration name: (type_identifier) @name) @type
(type_definition declarator: (type_identifier) @name) @type
(preproc_function_def name: (identifier) @name) @function

; references

(call_expression function: (identifier) @reference)
(call_expression function: (field_expression field: (field_identifier) @member))
(qualified_identifier name: (identifier) @member)
(type_identifier) @reference
